# In the manner of the scripts of huggingface/trl.
accelerate launch --config_file trl_accelerate_zero3.yaml --num_processes 4 trl/scripts/dpo.py \
    --model_name_or_path Qwen/Qwen2.5-7B-Instruct \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --max_length 2048 --max_prompt_length 512 \
    --gradient_checkpointing \
    --use_peft --lora_r 32 --lora_target_modules q_proj v_proj
